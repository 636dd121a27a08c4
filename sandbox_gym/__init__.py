"""sandbox_gym: a verifier backend that runs model answers in sandboxes and says what they are worth."""

from pathlib import Path

__version__ = "0.1.0"

if Path(__file__).with_name("verifiers").is_file():
    # a checkout without symbolic links (Windows, a ZIP): a text file stands where the link to ../verifiers was meant
    __path__.append(str(Path(__file__).parents[1]))
