"""``ddtree-tui bench``, from its options to its exit code."""

from __future__ import annotations

import contextlib
import queue
from pathlib import Path

import msgspec

from ddtree_tui import exit_codes
from ddtree_tui.bench.baseline import compare, read_baseline
from ddtree_tui.bench.options import BenchOptions
from ddtree_tui.bench.plots import plots
from ddtree_tui.bench.progress import BenchProgress
from ddtree_tui.bench.prompts import read_prompts
from ddtree_tui.bench.results import Results, results_json, results_of, write_file
from ddtree_tui.bench.runner import EngineFailedError, Inbox, Job, Runner, SignalledError, all_jobs
from ddtree_tui.bench.table import markdown
from ddtree_tui.bench.work_file import WorkFile, work_path
from ddtree_tui.engine_process import EngineProcess
from ddtree_tui.escape import escape
from ddtree_tui.signals import signals_to
from ddtree_tui.standard_output import put
from engine.errors import EngineError


def run_bench(options: BenchOptions, engine_command: list[str] | None = None) -> int:
    """Measure, report, and say by the exit code what came of it.

    Raises:
        EngineError: ``bench_file``, ``usage``, ``no_drafter``, ``engine_start``; nothing was measured then.
    """
    baseline = None if options.baseline is None else read_baseline(options.baseline)
    prompts = read_prompts(options.files, options.limit, options.wrap, options.load.model)
    jobs = all_jobs(prompts, options.conditions, options.ways)
    _check_outputs(options)
    inbox: Inbox = queue.SimpleQueue()
    with signals_to(inbox.put), WorkFile(work_path(options.out) if options.out else None) as work:
        work.check(options.load, options.decode)
        left = [job for job in jobs if job.key not in work.results]
        code = _measure(options, work, left, len(jobs) - len(left), inbox, engine_command) if left else None
        if not work.measurements:
            return exit_codes.ENGINE_FAILED if code is None else code
        results = results_of(options, work, complete=code is None)
        if baseline is not None:
            results = msgspec.structs.replace(results, comparisons=compare(baseline, results.groups))
        _write(options, results)
        if results.complete:
            work.remove()
    return _verdict(results) if code is None else code


def _measure(
    options: BenchOptions,
    work: WorkFile,
    jobs: list[Job],
    done: int,
    inbox: Inbox,
    engine_command: list[str] | None,
) -> int | None:
    """None when everything was measured, otherwise the exit code for what came in between."""
    engine = EngineProcess(
        inbox.put, options.log_path, command=engine_command, debug=options.debug, ranks=options.load.tp
    )
    with BenchProgress(quiet=options.quiet) as progress:
        try:
            with engine:
                Runner(options, work, engine, inbox, progress).run(jobs, done)
        except SignalledError as signal:
            if options.out is not None and work.results:
                progress.say("Ended early; the same command goes on from here.")
            return exit_codes.interrupted(signal.number)
        except EngineFailedError as error:
            progress.say(escape(f"{error.message} {error.hint}".rstrip()))
            if options.debug and error.detail:
                progress.say(error.detail.rstrip())
            return exit_codes.exit_code(error.kind, loading=error.loading)
    return None


def _check_outputs(options: BenchOptions) -> None:
    """Say now what would be in the way at the end.

    Raises:
        EngineError: ``bench_file``.
    """
    for path in (options.out, options.markdown):
        if path is not None:
            try:
                _check_output(path, resumes=path == options.out)
            except OSError as error:  # a name too long, a folder that may not be looked into
                raise EngineError(
                    "bench_file",
                    f"The results cannot be written to {path}: {error.strerror or error}.",
                    "Choose another file.",
                ) from error
    if options.plots is not None:
        try:
            options.plots.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise EngineError(
                "bench_file",
                f"The folder {options.plots} cannot be made: {error.strerror or error}.",
                "Choose another --plots.",
            ) from error


def _check_output(path: Path, *, resumes: bool) -> None:
    if path.is_dir():
        raise EngineError("bench_file", f"{path} is a folder.", "Name a file in it.")
    if resumes and path.exists() and not work_path(path).exists():
        raise EngineError(
            "bench_file",
            f"The results {path} exist already.",
            "Choose another --out, or remove the file first.",
        )
    if not path.absolute().parent.is_dir():
        raise EngineError("bench_file", f"There is no folder for {path}.", "Make it first.")


def _write(options: BenchOptions, results: Results) -> None:
    if options.out is not None:
        write_file(options.out, results_json(results))
    if options.plots is not None:
        for name, picture in plots(results).items():
            write_file(options.plots / name, picture)
    report = markdown(results)
    if options.markdown is not None:
        write_file(options.markdown, report.encode())
    else:
        with contextlib.suppress(BrokenPipeError):
            put(report)


def _verdict(results: Results) -> int:
    if any(one.verdict.kind == "defect" for one in results.divergences):
        return exit_codes.TEXT_DIFFERS
    if any(one.moved for one in results.comparisons):
        return exit_codes.MOVED
    return exit_codes.OK
