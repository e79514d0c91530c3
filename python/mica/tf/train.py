"""`tf.train`: what describes clusters."""

from ._cluster_spec import ClusterDef, ClusterSpec, JobDef, ServerDef

__all__ = ["ClusterDef", "ClusterSpec", "JobDef", "ServerDef"]
