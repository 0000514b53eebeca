//! Notebooks (N).

crate::registry::rules![n01_notebook_out_history, n02_notebook_rerun_leak];
