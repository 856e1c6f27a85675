use toolway::prelude::*;

#[tool]
fn book(
    #[arg(format = "dat")] day: String,
    //~ unknown format `dat`, did you mean `date`?
    #[arg(format = "datetime")] at: String,
    //~ unknown format `datetime`, did you mean `date-time`?
    #[arg(format = "url")] page: String,
    //~ unknown format `url`, did you mean `uri`?
    #[arg(format = "hostname")] host: String,
    #[arg(format = "isbn")] book: String,
) {
    let _ = (day, at, page, host, book);
}

fn main() {}
