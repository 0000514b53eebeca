//! The library answers to the driver's name: `libcaffe2_nvrtc.so` NEEDs `libcuda.so.1`, and the
//! loader takes a preloaded library of that SONAME for it.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    println!("cargo:rerun-if-changed=build.rs");
}
