use toolway::Form;
use toolway::prelude::*;

#[derive(Form)]
enum Colour {
    Red,
}

#[derive(Form)]
struct Defaults {
    #[form(default = "yes")]
    //~ the default must be `true` or `false`, not a string
    flag: bool,
    #[form(default = 1)]
    //~ the default must be a string, not a number
    text: Option<String>,
    #[form(default = 256)]
    //~ the default must be a whole number that fits `u8`: from 0 to 255
    small: u8,
    #[form(default = 0.5)]
    //~ the default must be a whole number that fits `i64`: from -9223372036854775808 to 9223372036854775807
    whole: i64,
    #[form(default = true)]
    //~ the default must be a number, not `true` or `false`
    number: f64,
    #[form(default = 11, max = 10)]
    //~ the default violates `max`
    bounded: u8,
    #[form(default = "", min_length = 1)]
    //~ the default violates `min_length`
    named: String,
    #[form(default = "c", choices = ["a", "b"])]
    //~ the default `c` is not one of the choices
    chosen: String,
    #[form(default = "a", choices = ["a", "b"])]
    //~ the default must be a list, not a string
    list: Vec<String>,
    #[form(default = ["c"], choices = ["a", "b"])]
    //~ the default `c` is not one of the choices
    other: Vec<String>,
    #[form(default = [7])]
    //~ the default must be a list of choices, but this item is a number
    colours: Vec<Colour>,
}

fn main() {}
