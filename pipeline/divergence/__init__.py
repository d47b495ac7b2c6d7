"""Divergence of a simulated episode from a real one: episodes, alignment, the paper's measures, onset, events."""

from pipeline.divergence.alignment import METHODS, Method, TimeAlignment, align
from pipeline.divergence.comparison import Comparison, Onset, compare
from pipeline.divergence.comparison_files import summary_lines, to_json, write_comparison
from pipeline.divergence.episode import ArmJoints, Episode, EpisodeError
from pipeline.divergence.episode_files import read_episode, write_episode
from pipeline.divergence.project_episodes import rollout_episode, round_episode
from pipeline.divergence.robot_kinematics import RobotModelError, load_robot

__all__ = [
    "METHODS",
    "ArmJoints",
    "Comparison",
    "Episode",
    "EpisodeError",
    "Method",
    "Onset",
    "RobotModelError",
    "TimeAlignment",
    "align",
    "compare",
    "load_robot",
    "read_episode",
    "rollout_episode",
    "round_episode",
    "summary_lines",
    "to_json",
    "write_comparison",
    "write_episode",
]
