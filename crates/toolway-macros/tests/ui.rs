//! Each mistake of an author is told in words, where it stands. To accept new words: `TRYBUILD=overwrite`.

#[test]
fn mistakes_are_told_where_they_stand() {
    trybuild::TestCases::new().compile_fail("tests/ui/*/*.rs");
}
