use toolway::prelude::*;

#[tool(
    name = "",
    //~ a name is not empty
    title = 7,
    //~ write `title = "…"`
    description,
    //~ write `description = …`
    icon = 7,
    //~ an icon is its address, or `icon(src = "…", mime = "…", sizes = ["48x48"], theme = "dark")`
    icons = [icon(mime = "image/png"), icon(src = "a", them = "dark"), icon(src = "a", theme = "blue", sizes = [1])],
    //~ an icon needs `src = "…"`
    //~ unknown key `them`, did you mean `theme`? `icon` has: src, mime, sizes, theme
    //~ a theme is "light" or "dark"
    //~ `sizes` is a list of texts
    meta,
    //~ write `meta = {…}`
    blocking = "yes"
    open_world
    //~ expected `,`
)]
fn one() {}

#[resource(
    "notes://{id}",
    size = 7,
    //~ a template stands for many resources, which have no common size
    annotations(audience = [everybody], priority = 2, colour = "red")
    //~ unknown key `colour`; `annotations` has: audience, priority, last_modified
    //~ the audience is `user`, `assistant` or both
    //~ `priority` is a number from 0 to 1
)]
fn two(id: u64) -> String {
    id.to_string()
}

#[resource(uri = "notes://a", size = "big", annotations = 1)]
//~ write `size = 1024`, in bytes
//~ write `annotations(audience = [user, assistant], priority = 0.9)`
fn three() -> String {
    String::new()
}

fn main() {}
