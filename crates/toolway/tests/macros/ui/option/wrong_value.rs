use toolway::prelude::*;

#[tool(
    name = "",
    //~ a name must not be empty
    title = 7,
    //~ write `title = "…"`
    description,
    //~ write `description = …`
    icon = 7,
    //~ write an icon as its URL, or as `icon(src = "…", mime = "…", sizes = ["48x48"], theme = "dark")`
    icons = [icon(mime = "image/png"), icon(src = "a", them = "dark"), icon(src = "a", theme = "blue", sizes = [1])],
    //~ an icon needs `src = "…"`
    //~ unknown key `them`, did you mean `theme`? `icon` has: src, mime, sizes, theme
    //~ `theme` must be "light" or "dark"
    //~ `sizes` must be a list of strings
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
    //~ a template describes many resources of different sizes: remove `size`
    annotations(audience = [everybody], priority = 2, colour = "red")
    //~ unknown key `colour`; `annotations` has: audience, priority, last_modified
    //~ `audience` must be `user`, `assistant` or both
    //~ `priority` must be a number from 0 to 1
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
