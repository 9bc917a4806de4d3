"""Profiles: what makes a cluster what it is, in the words of the columns of a table."""

from coterie.profiles._profile import Profile, profile
from coterie.profiles._summary import BINS, ProfileSummary

__all__ = ["BINS", "Profile", "ProfileSummary", "profile"]
