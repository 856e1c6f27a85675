//! Who a client or a server is, and what things look like to people.

use crate::wire::{names, wire};

wire! {
    /// The name and version of a program, for display only: no decision may rest on it.
    ///
    /// ```
    /// use toolway_protocol::types::Implementation;
    ///
    /// let me = Implementation::new("calculator", "1.0.0").with_title("Calculator");
    /// assert_eq!(me.display_name(), "Calculator");
    /// ```
    pub struct Implementation {
        /// The program's name.
        name: String = "name";
        /// Its version.
        version: String = "version";
        /// A name for people.
        title (with_title): Option<String> = "title", since TITLE;
        /// What it is for.
        description (with_description): Option<String> = "description", since IDENTITY;
        /// Pictures of it.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// Where to read more.
        website_url (with_website_url): Option<String> = "websiteUrl", since IDENTITY;
    }
}

impl Implementation {
    /// The name to show: the title if there is one.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// A picture to show beside something.
    ///
    /// ```
    /// use toolway_protocol::types::Icon;
    ///
    /// let icon = Icon::new("https://app.example/icon.png").with_sizes(vec!["48x48".to_owned()]);
    /// assert_eq!(icon.src, "https://app.example/icon.png");
    /// ```
    pub struct Icon {
        /// Where it is: an `https` or `data` URI.
        src: String = "src";
        /// Its media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The sizes it is good for, `48x48` or `any`.
        sizes (with_sizes): Option<Vec<String>> = "sizes";
        /// The background it is made for.
        theme (with_theme): Option<Theme> = "theme";
    }
}

names! {
    /// A background.
    ///
    /// ```
    /// use toolway_protocol::types::Theme;
    ///
    /// assert_eq!(Theme::from("dark"), Theme::Dark);
    /// ```
    pub enum Theme {
        /// A light one.
        Light = "light",
        /// A dark one.
        Dark = "dark",
    }
}

wire! {
    /// For whom something is, and how much it matters.
    ///
    /// ```
    /// use toolway_protocol::types::{Annotations, Role};
    ///
    /// let annotations = Annotations::new().with_audience(vec![Role::User]).with_priority(0.9);
    /// assert_eq!(annotations.priority, Some(0.9));
    /// ```
    pub struct Annotations {
        /// For whom it is.
        audience (with_audience): Option<Vec<Role>> = "audience";
        /// From 0, "never mind", to 1, "required".
        priority (with_priority): Option<f64> = "priority";
        /// When it changed last, in ISO 8601.
        last_modified (with_last_modified): Option<String> = "lastModified", since LAST_MODIFIED;
    }
}

names! {
    /// Who says something.
    ///
    /// ```
    /// use toolway_protocol::types::Role;
    ///
    /// assert_eq!(Role::Assistant.as_str(), "assistant");
    /// ```
    pub enum Role {
        /// The person.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}
