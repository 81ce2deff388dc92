"""Replication of the study of Prophecy, DeepInfer and SelfChecker on the same models and data.

"Evaluating Deep Neural Networks in Deployment: A Comparative Study (Replicability Study)", ISSTA
2024. Every method runs as published and in a form that a monitor can really run.
"""
