"""Calibration: a model's physical parameters from episodes, with 95 % intervals and what cannot be identified."""

from pipeline.calibration.calibration import Calibration, CalibrationStep, EstimatedParameter, calibrate
from pipeline.calibration.calibration_files import summary_lines, write_calibration
from pipeline.calibration.model_files import read_model, with_spec_values, write_model
from pipeline.calibration.parameters import (
    CalibrationError,
    ModelParameter,
    default_parameters,
    measured_parameters,
    parameter,
    read_parameters,
    require_distinct,
    with_values,
)

__all__ = [
    "Calibration",
    "CalibrationError",
    "CalibrationStep",
    "EstimatedParameter",
    "ModelParameter",
    "calibrate",
    "default_parameters",
    "measured_parameters",
    "parameter",
    "read_model",
    "read_parameters",
    "require_distinct",
    "summary_lines",
    "with_spec_values",
    "with_values",
    "write_calibration",
    "write_model",
]
