//! The identity of a client or a server, and how items are displayed to users.

use crate::wire::{names, wire};

wire! {
    /// The name and version of a program. It is for display only: no decision may depend on it.
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
        /// The program's version.
        version: String = "version";
        /// The display name.
        title (with_title): Option<String> = "title", since TITLE;
        /// The description.
        description (with_description): Option<String> = "description", since IDENTITY;
        /// The icons of the program.
        icons (with_icons): Option<Vec<Icon>> = "icons", since ICONS;
        /// The URL of a page with more information.
        website_url (with_website_url): Option<String> = "websiteUrl", since IDENTITY;
    }
}

impl Implementation {
    /// Returns the name to display: the title if present, otherwise the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// An icon to display beside an item.
    ///
    /// ```
    /// use toolway_protocol::types::Icon;
    ///
    /// let icon = Icon::new("https://app.example/icon.png").with_sizes(vec!["48x48".to_owned()]);
    /// assert_eq!(icon.src, "https://app.example/icon.png");
    /// ```
    pub struct Icon {
        /// The URI of the image, with the scheme `https` or `data`.
        src: String = "src";
        /// The media type.
        mime_type (with_mime_type): Option<String> = "mimeType";
        /// The sizes that the icon suits, `48x48` or `any`.
        sizes (with_sizes): Option<Vec<String>> = "sizes";
        /// The background that the icon is designed for.
        theme (with_theme): Option<Theme> = "theme";
    }
}

names! {
    /// A background color scheme.
    ///
    /// ```
    /// use toolway_protocol::types::Theme;
    ///
    /// assert_eq!(Theme::from("dark"), Theme::Dark);
    /// ```
    pub enum Theme {
        /// A light background.
        Light = "light",
        /// A dark background.
        Dark = "dark",
    }
}

wire! {
    /// The audience and the importance of an item.
    ///
    /// ```
    /// use toolway_protocol::types::{Annotations, Role};
    ///
    /// let annotations = Annotations::new().with_audience(vec![Role::User]).with_priority(0.9);
    /// assert_eq!(annotations.priority, Some(0.9));
    /// ```
    pub struct Annotations {
        /// The intended audience.
        audience (with_audience): Option<Vec<Role>> = "audience";
        /// The importance, from 0 (entirely optional) to 1 (required).
        priority (with_priority): Option<f64> = "priority";
        /// The time of the last change, in ISO 8601.
        last_modified (with_last_modified): Option<String> = "lastModified", since LAST_MODIFIED;
    }
}

names! {
    /// The author of a message, or its audience.
    ///
    /// ```
    /// use toolway_protocol::types::Role;
    ///
    /// assert_eq!(Role::Assistant.as_str(), "assistant");
    /// ```
    pub enum Role {
        /// The user.
        User = "user",
        /// The model.
        Assistant = "assistant",
    }
}
