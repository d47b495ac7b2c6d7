"""Episodes from logs of ROS robots: .bag, .mcap, .db3, and folders of ROS 2 (the optional extra "logs")."""

from pipeline.divergence.robot_logs.log_episode import is_log, read_log, split_topics, topic_choices, with_topics

__all__ = ["is_log", "read_log", "split_topics", "topic_choices", "with_topics"]
