//! Is a command line read as it is meant?

use super::*;

#[test]
fn sizes_are_bytes_or_have_a_unit() {
    for (text, bytes) in
        [("1", 1), ("1000", 1000), ("2K", 2 << 10), ("64M", 64 << 20), ("3 MiB", 3 << 20), ("1gb", 1 << 30)]
    {
        assert_eq!(size(text), Ok(bytes), "{text}");
    }
    for text in ["", "0", "M", "-1", "1.5M", "12x", "4G", "99999999999", "1M2"] {
        assert!(size(text).is_err(), "{text}");
    }
}
