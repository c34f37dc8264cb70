"""The one decorator that compiles kernels, and where it keeps what it compiled.

numba keeps compiled kernels on disk, by the file that a kernel is written in. But the machine code of a kernel holds
that of the kernels it calls, and these may be in other files. So numba's own entries outlive changes that they should
not, and a plan would be made with two versions of the kernels at once. Here the name of an entry holds all that it was
made from: the text of every kernel, the code that was really loaded, and the versions of Python and its libraries.
"""

import hashlib
import inspect
import marshal
import os
import pickle
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any, TypeVar, cast

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    FunctionCache: Any = import_module("numba.core.caching").FunctionCache
    dumps: Any = import_module("numba.core.serialize").dumps
except (ImportError, AttributeError):  # another numba may have other insides: nothing is kept, which is slow and safe
    FunctionCache = object

try:
    Listener: Any = import_module("numba.core.event").Listener
    register: Any = import_module("numba.core.event").register
except (ImportError, AttributeError):  # nobody tells when kernels are compiled: it counts as work then
    Listener, register = object, None

# What reaches into numba to compile faster was tried with these versions; any other compiles in its own way.
_IS_TRIED = numba.__version__.startswith("0.68.")
runtime: Any = None
if _IS_TRIED:
    with suppress(ImportError, AttributeError):
        import_module("numba.np.arrayobj")  # the runtime imports it when it starts, and imports are not work
        import_module("numpy.ma")  # numba asks of each array whether it is one of these
        runtime = import_module("numba.core.runtime.nrt").rtsys
_MAKES_ARRAYS = {"empty", "zeros", "full", "sort"}
_HERE = Path(__file__).resolve().parent
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"


def jit(function: Function) -> Function:
    """Compile a kernel that Python calls, with a cache on disk, or without one where no cache directory is writable.

    Other threads run while a kernel does.
    """
    return _with_cache(function, _decorate(function))


def spliced(function: Function) -> Function:
    """As :func:`jit`, for a kernel whose text becomes a part of each kernel that calls it.

    Others are compiled for themselves, and their machine code is then worked on again with each of their callers.
    """
    return _with_cache(function, _decorate(function, inline="always"))


def inner(function: Function) -> Function:
    """Compile a kernel that only kernels call: it has no entrance for Python, and is kept as a part of its callers."""
    return cast(Function, _decorate(function, no_cpython_wrapper=True))


def _decorate(function: Function, **options: object) -> Any:
    # No wrapper that nobody calls, and no checks for a division by zero, which there is none of.
    decorate: Any = numba.njit
    # Who makes no arrays need not count who still uses them: the caller holds all that there are.
    if _IS_TRIED:
        options["_nrt"] = not _MAKES_ARRAYS.isdisjoint(function.__code__.co_names)
    lean = {} if _LeanCompiler is None else {"pipeline_class": _LeanCompiler}
    return _counting(decorate(nogil=True, no_cfunc_wrapper=True, error_model="numpy", **lean, **options)(function))


def _define_lean_compiler() -> Any:
    """Make numba compile without the passes for what no kernel has: closures, ``with``, literals, array expressions.

    Each pass looks at the whole kernel again. Nor is anything optimised twice, or made into machine code that nobody
    runs. ``None`` where numba has other passes: then it makes them all.
    """
    if not _IS_TRIED:
        return None
    try:
        machinery, compiler = import_module("numba.core.compiler_machinery"), import_module("numba.core.compiler")
        untyped, typed = import_module("numba.core.untyped_passes"), import_module("numba.core.typed_passes")
        translate = (untyped.TranslateByteCode, untyped.FixupArgs)
        passes = (
            untyped.IRProcessing,
            untyped.RewriteSemanticConstants,
            untyped.DeadBranchPrune,
            untyped.GenericRewrites,
            untyped.InlineInlinables,
            untyped.ReconstructSSA,
            typed.NopythonTypeInference,
            typed.PreLowerStripPhis,
            typed.NoPythonSupportedFeatureValidation,
            typed.IRLegalization,
            typed.NativeLowering,
            typed.NoPythonBackend,
        )
        base, library = compiler.CompilerBase, import_module("numba.core.codegen").JITCodeLibrary
    except (ImportError, AttributeError):
        return None

    class LeanLibrary(library):  # type: ignore[misc, valid-type]
        """Optimised once; a kernel that only kernels call is optimised with each of these, and never run by itself."""

        is_part = False

        def _optimize_final_module(self) -> None:
            if not self.is_part:
                passes, builder = self._codegen._module_pass_manager()
                passes.run(self._final_module, builder)

        def _finalize_final_module(self) -> None:
            if self.is_part:
                self._finalized = True
            else:
                super()._finalize_final_module()

        def get_pointer_to_function(self, name: str) -> Any:
            return 0 if self.is_part else super().get_pointer_to_function(name)

        # What numba asks for to tell the machine code where its Python objects are: a part has neither.
        @property
        def codegen(self) -> Any:
            return self if self.is_part else super().codegen

        def set_env(self, name: str, environment: object) -> None: ...

    class LeanCompiler(base):  # type: ignore[misc, valid-type]
        def define_pipelines(self) -> list[Any]:
            state = self.state
            state.library = LeanLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            state.library.is_part = state.flags.no_cpython_wrapper
            manager = machinery.PassManager("lean")
            for each in (translate if self.state.func_ir is None else ()) + passes:
                manager.add_pass(each, each.__name__)
            manager.finalize()
            return [manager]

    return LeanCompiler


_LeanCompiler = _define_lean_compiler()


def _with_cache(function: Function, kernel: Any) -> Function:
    if kernel is function:  # numba was told to leave functions as they are (NUMBA_DISABLE_JIT)
        # The arithmetic is that of compiled kernels: what overflows or has no value is no reason to warn.
        return cast(Function, np.errstate(all="ignore")(function))
    # Whatever goes wrong: a kernel without a cache is compiled again, and is right.
    with suppress(Exception):
        kernel._cache = _KernelCache(function)
    return cast(Function, kernel)


def specialise(kernel: Function, **others: Any) -> Function:
    """The same kernel with ``others`` in place of the functions that it calls by these names, compiled anew for them.

    For plug-ins: the kernel that everybody else uses stays as it is. Nothing of it is kept on disk.
    """
    plain: Any = inspect.unwrap(getattr(kernel, "py_func", kernel))
    copy = FunctionType(plain.__code__, {**plain.__globals__, **others}, plain.__name__)
    return cast(Function, _decorate(copy))


def compile_plain(function: Any) -> Any:
    """A plug-in's function compiled, with indices checked, unless it was compiled already."""
    compile_it: Any = numba.njit
    return function if hasattr(function, "py_func") else compile_it(boundscheck=True, nogil=True)(function)


class _Compilation(Listener):  # type: ignore[misc]
    """How long kernels were made ready for in this process, and who is told when one must be compiled.

    To be made ready is to be compiled, or to be loaded from the disk. Threads may wait for that side by side: the clock
    runs from when the first begins to when the last has what it needs.
    """

    def __init__(self) -> None:
        self.seconds = 0.0
        self.listeners: list[Callable[[], None]] = []
        self._guard = threading.Lock()
        self._depth = self._num_compiling = 0
        self._began_s = 0.0

    def on_start(self, _event: object) -> None:
        """A kernel is about to be compiled, perhaps for one that is being compiled."""
        self.begin()
        self._num_compiling += 1
        if self._num_compiling == 1:
            for listener in self.listeners:
                listener()

    def on_end(self, _event: object) -> None:
        """A kernel was compiled, or could not be."""
        self._num_compiling -= 1
        self.end()

    def begin(self) -> None:
        """Somebody waits for a kernel from now on."""
        with self._guard:
            if self._depth == 0:
                self._began_s = time.monotonic()
            self._depth += 1

    def end(self) -> None:
        """That one waits no longer."""
        with self._guard:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.monotonic() - self._began_s


_compilation = _Compilation()
if register is not None:
    register("numba:compile", _compilation)


def _counting(kernel: Any) -> Any:
    """The kernel, with the time counted in which numba makes it ready for a signature that it does not have yet."""
    make_ready = getattr(kernel, "_compile_for_args", None)
    if make_ready is not None:

        def counted(*given: Any, **named: Any) -> Any:
            _compilation.begin()
            try:
                return make_ready(*given, **named)
            finally:
                _compilation.end()

        kernel._compile_for_args = counted
    return kernel


def ready_seconds() -> float:
    """How many seconds kernels have been compiled or loaded for in this process: no part of anybody's time limit."""
    return _compilation.seconds


@contextmanager
def telling(listener: Callable[[], None]) -> Iterator[None]:
    """Call a function each time that a kernel has to be compiled, when that begins."""
    _compilation.listeners.append(listener)
    try:
        yield
    finally:
        _compilation.listeners.remove(listener)


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """Where numba looks for one compiled kernel: its place and its way to write machine code down, our files.

    The place is what numba finds: ``NUMBA_CACHE_DIR``, ``__pycache__``, or a directory of the user. There is one file
    for each signature and processor: without numba's index, there is nothing that two processes could leave half done.
    Trouble with a file never stops a plan: one that is damaged, removed meanwhile, or cannot be written is missing.
    """

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        sources, tools = digest_sources(), _digest_tools()
        self._folder = Path(self._cache_path)
        _close_to_others(self._folder)
        self._prefix = f"{self._impl.filename_base}.{sources}.{tools}"
        _remove_old(self._folder, sources, tools)
        theirs = vars(self)["_cache_file"]
        if not (hasattr(theirs, "load") and hasattr(theirs, "save")):
            raise NotImplementedError("this numba reads its entries in another way")
        self._cache_file = self

    # Worked out when it is first needed, because a kernel may call one that is written below it.
    @cached_property
    def _code(self) -> bytes:
        return digest_code(self._py_func)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The kernel compiled for a signature, or ``None``."""
        with suppress(Exception):
            if runtime is None:
                return super().load_overload(sig, target_context)
            # numba would first load all that compiles kernels, a tenth of a second; to run one takes its memory alone.
            runtime.initialize(target_context)
            return self._load_overload(sig, target_context)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a kernel that was compiled for a signature."""
        with suppress(OSError):
            super().save_overload(sig, data)

    def load(self, key: object) -> Any:
        """What numba saved under a key, or ``None``."""
        digest, path = self._place(key)
        if not path.exists():
            return None
        # What is unpickled is run: it must come from this user or from root, and nobody else may have changed it.
        with path.open("rb") as file:
            if not (_is_private(os.fstat(file.fileno())) and _is_private(self._folder.stat())):
                return None
            content = file.read()
        return pickle.loads(content[len(digest) :]) if content.startswith(digest) else None

    def save(self, key: object, data: object) -> None:
        """Write the file of a key, at once for whoever reads it."""
        digest, path = self._place(key)
        unfinished = path.with_name(f"{path.name}.tmp.{uuid.uuid4().hex[:16]}")
        try:
            handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
            with os.fdopen(handle, "wb") as file:
                file.write(digest + dumps(data))
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def flush(self) -> None:
        """Forget the kernel."""
        for path in self._folder.glob(f"{self._prefix}.*"):
            path.unlink(missing_ok=True)

    def _place(self, key: object) -> tuple[bytes, Path]:
        """All that an entry depends on, and its file."""
        whole = hashlib.sha256(f"{self._prefix} {key!r}".encode() + self._code)
        return whole.digest(), self._folder / f"{self._prefix}.{whole.hexdigest()[:20]}.nbc"


def _is_private(about: os.stat_result) -> bool:
    """Whether a file or folder belongs to this user or to root, and nobody else can write there."""
    return os.name != "posix" or (about.st_uid in (os.geteuid(), 0) and not about.st_mode & 0o022)


def _close_to_others(folder: Path) -> None:
    """Keep others from writing to a folder of kernels that numba has made, where the user's habit (umask) lets them."""
    if os.name == "posix":
        with suppress(OSError):
            about = folder.stat()
            if about.st_uid == os.geteuid() and about.st_mode & 0o022:
                folder.chmod(about.st_mode & 0o7755)


def digest_code(function: Any) -> bytes:
    """Of a kernel as Python has loaded it, the kernels that it calls and the constants they use.

    That need not be what the files say by now: they may have changed since, or Python may have kept its own compiled
    file for one whose time and size did not change.
    """
    whole = hashlib.sha256()
    reached, left = {function}, [function]
    while left:
        now = left.pop()
        # The second version of the format writes equal code as equal bytes, the later ones need not.
        whole.update(marshal.dumps(now.__code__, 2) + repr(now.__defaults__).encode())
        for name in _names_in(now.__code__):
            value = now.__globals__.get(name)
            value = getattr(value, "py_func", value)
            if isinstance(value, FunctionType):
                if value not in reached:
                    reached.add(value)
                    left.append(value)
            else:
                # Numbers are all that kernels take from their modules, beside the fields of a tuple that they make.
                constant = None if inspect.ismodule(value) else getattr(value, "_fields", value)
                whole.update(f"{name} {constant!r}\n".encode())
    return whole.digest()


def _names_in(code: CodeType) -> list[str]:
    """What a function may take from its module, and the functions within it, in the order of the code."""
    inside = [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    return [*code.co_names, *(name for part in inside for name in _names_in(part))]


@cache
def digest_sources() -> str:
    """Of every kernel's text; they are too closely knit to tell which ones matter for which."""
    files = sorted(_HERE.glob("*.py"))
    if not files:
        raise OSError("no kernel sources to tell versions apart by")
    whole = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        whole.update(f"{path.name} {len(content)}\n".encode() + content)
    return whole.hexdigest()[:20]


@cache
def _digest_tools() -> str:
    """Of what compiles them."""
    versions = [sys.version, *(str(import_module(name).__version__) for name in ("numba", "llvmlite", "numpy"))]
    return hashlib.sha256("\n".join(versions).encode()).hexdigest()[:20]


@cache
def _remove_old(folder: Path, sources: str, tools: str) -> None:
    """Delete what earlier kernels and earlier versions of numba have left; another Python's entries may be in use.

    A process that still runs earlier kernels compiles them again when it misses them.
    """
    # In other places numba may keep kernels that are not ours.
    if folder.name != "__pycache__" and not folder.name.startswith(f"{_HERE.name}_"):
        return
    with suppress(OSError):
        for path in folder.iterdir():
            parts = path.name.split(".")
            is_entry = "nbi" in parts[1:] or "nbc" in parts[1:]
            is_current = sources in parts and (tools in parts or _PYTHON not in parts)
            if is_entry and not is_current:
                with suppress(OSError):
                    path.unlink()


def remember_types() -> None:
    """Keep numba from working out again and again what it has worked out: which types an operation on types gives.

    Each ``a + b`` in a kernel is looked up among all that numba can add, which is a sixth of the time that it takes to
    compile. What an operation gives depends on the types of its operands alone. For our own command line only: it
    reaches into numba, which is not a library's business in somebody's program.
    """
    if not _IS_TRIED:
        return
    with suppress(ImportError, AttributeError):
        functions = import_module("numba.core.types.functions")
        work_out = functions.BaseFunction.get_call_type

        def look_up(self: Any, context: Any, args: Any, kws: Any) -> Any:
            if kws:
                return work_out(self, context, args, kws)
            known = self.__dict__.setdefault("_veilroute_known", {})
            key = (context, args)
            if key not in known:
                known[key] = work_out(self, context, args, kws)
            return known[key]

        functions.BaseFunction.get_call_type = look_up
