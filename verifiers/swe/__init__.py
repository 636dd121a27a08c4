"""Software engineering: a row's repository, the answer's patch, and what the hidden tests make of it."""

from __future__ import annotations

from sandbox_gym.verifiers.swe.channel.reader import CaseReport, ChannelReport, read_channel
from sandbox_gym.verifiers.swe.commands import SCRUBBED, RunCommand, RunOptions, as_row_ids, run_command, script_sources
from sandbox_gym.verifiers.swe.follow_up import flakes, rerun_of
from sandbox_gym.verifiers.swe.grading import CaseGrade, Grade, Resolution, Share, grade, to_rerun, weak_spots
from sandbox_gym.verifiers.swe.inverted import in_doubt, inverted_jobs, with_inverted
from sandbox_gym.verifiers.swe.job import Checkout, SweJob
from sandbox_gym.verifiers.swe.logs.formats import FRAMEWORKS, framework_sources
from sandbox_gym.verifiers.swe.logs.verdicts import R2E_PARSER, log_command
from sandbox_gym.verifiers.swe.patches.diff import FileChange, PatchReading, read_patch
from sandbox_gym.verifiers.swe.patches.extract import ExtractedPatch, extract_patch, normalised
from sandbox_gym.verifiers.swe.patches.paths import pytest_settings_differ
from sandbox_gym.verifiers.swe.patches.restore import COSTLY, SIGNS, RestorePlan, hook_signs, restore_plan
from sandbox_gym.verifiers.swe.reference import (
    MAX_HOLDING,
    ByteEdit,
    Candidate,
    Inversion,
    InvertibleTest,
    KeptVariant,
    Reference,
    ReferenceRecord,
    candidates,
    digest_of,
    files_to_read,
    runs_for,
)
from sandbox_gym.verifiers.swe.report import verdict_of
from sandbox_gym.verifiers.swe.rows import parse_task
from sandbox_gym.verifiers.swe.task import CaseStatus, ImageLayout, Recipe, SweLimits, SweTask
from sandbox_gym.verifiers.swe.verifier import SweVerifier, statuses, tests_outcome

__all__ = [
    "COSTLY",
    "FRAMEWORKS",
    "MAX_HOLDING",
    "R2E_PARSER",
    "SCRUBBED",
    "SIGNS",
    "ByteEdit",
    "Candidate",
    "CaseGrade",
    "CaseReport",
    "CaseStatus",
    "ChannelReport",
    "ExtractedPatch",
    "FileChange",
    "Grade",
    "ImageLayout",
    "Inversion",
    "InvertibleTest",
    "KeptVariant",
    "PatchReading",
    "Checkout",
    "Recipe",
    "Reference",
    "Resolution",
    "RestorePlan",
    "RunCommand",
    "RunOptions",
    "Share",
    "SweJob",
    "SweLimits",
    "SweTask",
    "SweVerifier",
    "ReferenceRecord",
    "as_row_ids",
    "candidates",
    "digest_of",
    "extract_patch",
    "files_to_read",
    "flakes",
    "framework_sources",
    "grade",
    "hook_signs",
    "in_doubt",
    "inverted_jobs",
    "log_command",
    "normalised",
    "parse_task",
    "pytest_settings_differ",
    "read_channel",
    "read_patch",
    "rerun_of",
    "restore_plan",
    "run_command",
    "runs_for",
    "script_sources",
    "statuses",
    "tests_outcome",
    "to_rerun",
    "verdict_of",
    "weak_spots",
    "with_inverted",
]
