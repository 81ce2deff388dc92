"""The page of the Python reference, which mkdocstrings fills from docstrings."""

PAGE = """# Python

`import edgemon` is quick; what takes time is imported when it is first used. On a device
without the compiler `edgemon.load`, `Bundle.evaluate` and all of `edgemon.runtime` work.

## On the workstation

::: edgemon.compiler.api.compilation.compile
    options: {heading_level: 3}
::: edgemon.compiler.api.bundle.load
    options: {heading_level: 3}
::: edgemon.compiler.api.bundle.Bundle
    options: {heading_level: 3}
::: edgemon.compiler.api.bundle.Verdicts
    options: {heading_level: 3}
::: edgemon.compiler.api.bundle.Scores
    options: {heading_level: 3}
::: edgemon.compiler.gates.line.Line
    options: {heading_level: 3}
::: edgemon.compiler.options.Options
    options: {heading_level: 3}

## On the device

::: edgemon.runtime.session.Session
    options: {heading_level: 3}
::: edgemon.runtime.result.Result
    options: {heading_level: 3}
::: edgemon.runtime.result.MonitorResult
    options: {heading_level: 3}
::: edgemon.runtime.evaluation.Verdict
    options: {heading_level: 3}
::: edgemon.runtime.monitor.Monitor
    options: {heading_level: 3}
::: edgemon.runtime.preprocess.Preprocess
    options: {heading_level: 3}

## Errors

::: edgemon.runtime.errors
    options: {heading_level: 3, show_root_heading: false, show_root_toc_entry: false}
::: edgemon.compiler.errors.RequirementError
    options: {heading_level: 3}
::: edgemon.compiler.errors.UnmeasuredError
    options: {heading_level: 3}
"""
