"""Episodes from logs of ROS robots: .bag, .mcap, .db3, and folders of ROS 2 (the optional extra "logs")."""

from pipeline.divergence.robot_logs.log_episode import LOG_SUFFIXES, is_log_folder, read_log, split_topics

__all__ = ["LOG_SUFFIXES", "is_log_folder", "read_log", "split_topics"]
