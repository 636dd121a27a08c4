"""Software engineering: a row's repository, the answer's patch, and what the hidden tests make of it."""

from __future__ import annotations

from sandbox_gym.verifiers.inversion import ByteEdit
from sandbox_gym.verifiers.swe.channel.reader import MAX_SIGHTINGS, CaseReport, ChannelReport, read_channel
from sandbox_gym.verifiers.swe.commands import SCRUBBED, RunOptions, as_row_ids, run_command, script_sources
from sandbox_gym.verifiers.swe.follow_up import rerun_of, was_starved
from sandbox_gym.verifiers.swe.framed import (
    TRIALS,
    Choice,
    KeptFrame,
    Said,
    differs,
    drawn,
    learned,
    trial,
    tried,
)
from sandbox_gym.verifiers.swe.grading import Grade, Resolution, failing, grade, to_rerun, weak_spots
from sandbox_gym.verifiers.swe.inverted import in_doubt, inverted_jobs, said_in, stood, with_inverted
from sandbox_gym.verifiers.swe.job import Checkout, SweJob
from sandbox_gym.verifiers.swe.log_tests import is_lexical, lexical_files, log_candidates
from sandbox_gym.verifiers.swe.logs.formats import FRAMEWORKS, framework_sources
from sandbox_gym.verifiers.swe.logs.verdicts import R2E_PARSER, log_command
from sandbox_gym.verifiers.swe.patches.diff import patch_bytes, read_patch
from sandbox_gym.verifiers.swe.patches.extract import extract_patch, normalised
from sandbox_gym.verifiers.swe.patches.restore import COSTLY, SIGNS, RestorePlan, hook_signs, restore_plan
from sandbox_gym.verifiers.swe.reference import (
    MAX_HOLDING,
    QUICK_S,
    Candidate,
    Inversion,
    InvertibleTest,
    KeptVariant,
    Reference,
    candidates,
    digest_of,
    files_to_read,
    runs_for,
)
from sandbox_gym.verifiers.swe.report import verdict_of
from sandbox_gym.verifiers.swe.rows import parse_task
from sandbox_gym.verifiers.swe.task import CaseStatus, Recipe, SweLimits, SweTask
from sandbox_gym.verifiers.swe.verifier import OWN_FIX_FAILS, SweVerifier, log_exit_code, statuses, tests_outcome
