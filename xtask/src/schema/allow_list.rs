//! Which differences are known, and why?
//!
//! Four lists: definitions that no type covers, members that are lost, places where an official schema is wrong, and
//! published examples that are wrong. All are exact in both directions: a difference that is not listed fails the run,
//! and so does an entry that is no longer needed.

/// The differences that a run accepts; [`CORRECTIONS`] are applied before it.
#[derive(Debug)]
pub(super) struct AllowList {
    pub(super) uncovered: &'static [UncoveredDefinitions],
    pub(super) losses: &'static [Loss],
    pub(super) flawed: &'static [FlawedExample],
}

pub(super) const ALLOW_LIST: AllowList = AllowList { uncovered: UNCOVERED, losses: LOSSES, flawed: FLAWED };

/// Definitions that have no line in `table.rs`.
#[derive(Debug)]
pub(super) struct UncoveredDefinitions {
    pub(super) definitions: &'static [&'static str],
    pub(super) revisions: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// Members that may be lost or changed.
#[derive(Debug)]
pub(super) struct Loss {
    /// The place, relative to the nearest definition, as failures print it: `CallToolResult/isError`.
    pub(super) places: &'static [&'static str],
    /// Applies only to this input value, as JSON; `None` means any value.
    pub(super) value: Option<&'static str>,
    pub(super) revisions: &'static [&'static str],
    pub(super) reason: &'static str,
}

/// A place in the official schema that is replaced before values are generated from it or checked by it.
#[derive(Debug)]
pub(super) struct Correction {
    pub(super) definitions: &'static [&'static str],
    pub(super) revisions: &'static [&'static str],
    /// Relative to the definition: `/properties/size`.
    pub(super) pointer: &'static str,
    /// The replacement, as JSON.
    pub(super) schema: &'static str,
    pub(super) reason: &'static str,
}

/// A published example that is not valid by its own schema. Our types must still read it.
#[derive(Debug)]
pub(super) struct FlawedExample {
    pub(super) definition: &'static str,
    pub(super) revision: &'static str,
    pub(super) name: &'static str,
    pub(super) reason: &'static str,
}

const UNCOVERED: &[UncoveredDefinitions] = &[
    UncoveredDefinitions {
        definitions: &["Annotated"],
        revisions: &["2024-11-05"],
        reason: "a base of other definitions; no message holds it as such",
    },
    UncoveredDefinitions {
        definitions: &[
            "Notification",
            "PaginatedRequest",
            "PaginatedResult",
            "Request",
            "Result",
            "EmptyResult",
        ],
        revisions: &ALL,
        reason: "a base of other definitions; messages contain one of those",
    },
    UncoveredDefinitions {
        definitions: &["BaseMetadata"],
        revisions: &["2025-06-18", "2025-11-25", "2026-07-28"],
        reason: "a base of other definitions; no message holds it as such",
    },
    UncoveredDefinitions {
        definitions: &["Icons", "RequestParams", "ResourceRequestParams"],
        revisions: &["2025-11-25", "2026-07-28"],
        reason: "a base of other definitions; no message holds it as such",
    },
    UncoveredDefinitions {
        definitions: &["CacheableResult", "InputResponseRequestParams"],
        revisions: &["2026-07-28"],
        reason: "a base of other definitions; messages contain one of those",
    },
    UncoveredDefinitions {
        definitions: &["ClientResult", "ServerResult"],
        revisions: &ALL,
        reason: "the type of a result follows from the method of its request, not from its shape",
    },
    UncoveredDefinitions {
        definitions: &["InputResponse"],
        revisions: &["2026-07-28"],
        reason: "the type of an answer follows from its question, not from its shape; its kinds are covered separately",
    },
    UncoveredDefinitions {
        definitions: &["Cursor"],
        revisions: &ALL,
        reason: "plain text, covered where it is used",
    },
    UncoveredDefinitions {
        definitions: &["ResultType", "JSONArray", "JSONObject", "JSONValue"],
        revisions: &["2026-07-28"],
        reason: "plain text or any JSON, covered where it is used",
    },
    UncoveredDefinitions {
        definitions: &[
            "MetaObject",
            "NotificationMetaObject",
            "RequestMetaObject",
            "ResultMetaObject",
            "SubscriptionsListenResultMetaObject",
        ],
        revisions: &["2026-07-28"],
        reason: "an open object, covered where it is used",
    },
    UncoveredDefinitions {
        definitions: &[
            "CancelTaskRequest",
            "CancelTaskResult",
            "CreateTaskResult",
            "GetTaskPayloadRequest",
            "GetTaskPayloadResult",
            "GetTaskRequest",
            "GetTaskResult",
            "ListTasksRequest",
            "ListTasksResult",
            "RelatedTaskMetadata",
            "Task",
            "TaskAugmentedRequestParams",
            "TaskMetadata",
            "TaskStatus",
            "TaskStatusNotification",
            "TaskStatusNotificationParams",
        ],
        revisions: &["2025-11-25"],
        reason: "experimental tasks of the core are not served; the extension that replaced them will be",
    },
];

const LOSSES: &[Loss] = &[Loss {
    places: &["CallToolRequestParams/task"],
    value: None,
    revisions: &["2025-11-25"],
    reason: "experimental tasks of the core are not served; receivers without the capability ignore the member",
}];

pub(super) const CORRECTIONS: &[Correction] = &[
    Correction {
        definitions: &["ElicitResult"],
        revisions: &["2025-06-18"],
        pointer: "/properties/content/additionalProperties",
        schema: r#"{"type": ["string", "number", "boolean"]}"#,
        reason: "schema.ts says `number`, which the generator of schema.json made an integer",
    },
    Correction {
        definitions: &["ElicitResult"],
        revisions: &["2025-11-25", "2026-07-28"],
        pointer: "/properties/content/additionalProperties/anyOf/1",
        schema: r#"{"type": ["string", "number", "boolean"]}"#,
        reason: "schema.ts says `number`, which the generator of schema.json made an integer",
    },
    Correction {
        definitions: &["JSONValue"],
        revisions: &["2026-07-28"],
        pointer: "/anyOf/2",
        schema: r#"{"type": ["string", "number", "boolean", "null"]}"#,
        reason: "schema.ts says `number` and `null`: any JSON",
    },
    Correction {
        definitions: &[
            "NotificationMetaObject",
            "RequestMetaObject",
            "ResultMetaObject",
            "SubscriptionsListenResultMetaObject",
        ],
        revisions: &["2026-07-28"],
        pointer: "/additionalProperties",
        schema: "{}",
        reason: "schema.ts extends `MetaObject`, a record of anything; other members must survive",
    },
    Correction {
        definitions: &[
            "CacheableResult",
            "CallToolResult",
            "CompleteResult",
            "DiscoverResult",
            "GetPromptResult",
            "ListPromptsResult",
            "ListResourceTemplatesResult",
            "ListResourcesResult",
            "ListToolsResult",
            "PaginatedResult",
            "ReadResourceResult",
            "SubscriptionsListenResult",
        ],
        revisions: &["2026-07-28"],
        pointer: "/properties/resultType",
        schema: r#"{"type": "string", "const": "complete"}"#,
        reason: "wider than the prose: these are complete results, another type is another result",
    },
    Correction {
        definitions: &["InputRequiredResult"],
        revisions: &["2026-07-28"],
        pointer: "/properties/resultType",
        schema: r#"{"type": "string", "const": "input_required"}"#,
        reason: "wider than the prose: this is what makes it an InputRequiredResult",
    },
];

const FLAWED: &[FlawedExample] = &[FlawedExample {
    definition: "ReadResourceResultResponse",
    revision: "2026-07-28",
    name: "read-resource-result-response.json",
    reason: "has no ttlMs and cacheScope; the official schema accepts it only as an InputRequiredResult, which may \
             contain anything",
}];

const ALL: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
