//! Transcripts: what people read when they ask for help or mistype.

#[test]
fn transcripts() {
    trycmd::TestCases::new().env("NO_COLOR", "1").case("tests/command/transcripts/*.trycmd").case("../../README.md");
}
