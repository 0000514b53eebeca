//! Lightning and torchmetrics (T).

crate::registry::rules![
    t01_lightning_outputs_not_cleared,
    t02_lightning_removed_epoch_end,
    t03_metric_state_grows,
    t04_lightning_half_plus_precision16,
];
