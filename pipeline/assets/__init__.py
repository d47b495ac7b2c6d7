from pipeline.assets.asset import Asset, AssetError

__all__ = ["Asset", "AssetError"]
