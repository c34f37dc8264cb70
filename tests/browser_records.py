"""Everything that could carry something out of a page, written down while the page is used.

Two witnesses: the browser itself (Playwright's events and Chromium's own protocol, which see what the page's code
cannot hide), and wrappers in the page around whatever sends, stores, shows in the address or says something, which also
see what the browser refused.
"""

from __future__ import annotations

import base64
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus, urlsplit

from playwright.sync_api import BrowserContext, CDPSession, Page

from veilroute.domain import folded

# Runs before any script of the page. Texts that are saved are kept beside the record, because they are compared
# with what the command prints. Numbers that browsers make up, as in addresses of blobs, are left out.
WRAPPERS = r"""() => {
  const seen = [], saved = [];
  const shown = (value) => {
    if (value instanceof Blob) return `blob of ${value.type}, ${value.size} bytes`;
    if (value instanceof Element) return value.outerHTML;
    if (typeof value === "string") return value.replace(/blob:\S+/g, "blob:");
    try { return JSON.stringify(value) ?? String(value); } catch { return String(value); }
  };
  const note = (kind, values) => { seen.push([kind, ...[...values].map(shown)]); };
  const wrap = (owner, name, kind = name) => {
    const own = owner?.[name];
    if (typeof own !== "function") return;
    owner[name] = function (...values) { note(kind, values); return own.apply(this, values); };
  };
  const wrapClass = (name) => {
    const Own = globalThis[name];
    if (!Own) return;
    globalThis[name] = class extends Own { constructor(...values) { note(`new ${name}`, values); super(...values); } };
  };
  const wrapSetter = (owner, name, kind) => {
    const own = Object.getOwnPropertyDescriptor(owner, name);
    if (!own?.set) return;
    Object.defineProperty(owner, name, { ...own, set(value) { note(kind, [value]); own.set.call(this, value); } });
  };
  globalThis.recorded = { seen, saved };
  wrap(globalThis, "fetch"); wrap(globalThis, "open", "window.open"); wrap(globalThis, "postMessage");
  wrap(XMLHttpRequest.prototype, "open", "xhr open"); wrap(XMLHttpRequest.prototype, "send", "xhr send");
  wrap(Navigator.prototype, "sendBeacon"); wrap(globalThis.Clipboard?.prototype, "writeText", "clipboard");
  wrap(globalThis.CookieStore?.prototype, "set", "cookie store");
  wrap(globalThis.StorageManager?.prototype, "getDirectory");
  for (const name of ["WebSocket", "EventSource", "Worker", "SharedWorker", "BroadcastChannel", "RTCPeerConnection",
    "WebTransport", "Notification", "Image", "FontFace"]) wrapClass(name);
  for (const name of ["Worker", "MessagePort", "BroadcastChannel", "ServiceWorker"]) {
    wrap(globalThis[name]?.prototype, "postMessage", `${name} message`);
  }
  wrap(globalThis.ServiceWorkerContainer?.prototype, "register", "service worker");
  for (const name of ["setItem", "removeItem", "clear"]) wrap(Storage.prototype, name, `storage ${name}`);
  for (const name of ["open", "deleteDatabase"]) wrap(IDBFactory.prototype, name, `database ${name}`);
  for (const name of ["add", "put"]) wrap(IDBObjectStore.prototype, name, `database ${name}`);
  for (const name of ["open", "match", "delete"]) wrap(globalThis.CacheStorage?.prototype, name, `caches ${name}`);
  for (const name of ["pushState", "replaceState"]) wrap(History.prototype, name);
  for (const name of ["log", "info", "warn", "error", "debug", "table", "dir", "trace", "time", "group", "count"]) {
    wrap(console, name, `console ${name}`);
  }
  for (const name of ["mark", "measure"]) wrap(Performance.prototype, name, `performance ${name}`);
  wrapSetter(Document.prototype, "cookie", "cookie"); wrapSetter(Document.prototype, "title", "title");
  wrapSetter(globalThis, "name", "window name"); wrapSetter(Location.prototype, "hash", "hash");
  for (const [owner, name] of [[HTMLImageElement, "src"], [HTMLScriptElement, "src"], [HTMLIFrameElement, "src"],
    [HTMLLinkElement, "href"], [HTMLMediaElement, "src"]]) wrapSetter(owner.prototype, name, `${owner.name} ${name}`);
  const make = URL.createObjectURL;
  URL.createObjectURL = (blob) => {
    note("file from memory", [blob]);
    saved.push(blob.text());
    return make.call(URL, blob);
  };
  const click = HTMLAnchorElement.prototype.click;
  HTMLAnchorElement.prototype.click = function () {
    note("link", [this.href, this.download]);
    // Of downloads that begin at once a browser takes one; that they come at all is tested without these wrappers.
    if (!this.download) click.call(this);
  };
  new MutationObserver((changes) => {
    for (const { addedNodes } of changes) for (const node of addedNodes) {
      if (!(node instanceof Element)) continue;
      for (const each of [node, ...node.querySelectorAll("*")]) {
        if (each.matches("img, script, iframe, link, object, embed, video, audio, source, form, base, meta, style")) {
          note("element", [each.localName, each.outerHTML]);
        }
      }
    }
  }).observe(document, { childList: true, subtree: true });
  addEventListener("hashchange", () => note("hashchange", [location.hash]));
}"""

# Where things that were kept would be, and where the page is.
_KEPT = """async () => {
  const kept = { url: location.href, title: document.title, cookie: document.cookie, name: window.name,
    history: history.length, state: JSON.stringify(history.state) };
  for (const area of ["localStorage", "sessionStorage"]) {
    try { kept[area] = JSON.stringify({ ...window[area] }); } catch (error) { kept[area] = error.name; }
  }
  try { kept.databases = JSON.stringify(await indexedDB.databases()); } catch (error) { kept.databases = error.name; }
  try { kept.caches = JSON.stringify(await caches.keys()); } catch (error) { kept.caches = error.name; }
  return kept;
}"""

_LEAVING = ("http", "https", "ws", "wss", "ftp", "file")


class Recorder:
    """What a page does from :meth:`start` on.

    Attributes
    ----------
    events
        What the browser saw, in order: kind and what it was about.
    """

    def __init__(self, page: Page) -> None:
        self.page, self.events = page, list[tuple[str, str]]()
        self._cdp: CDPSession = page.context.new_cdp_session(page)
        self._since = 0

    def start(self) -> None:
        """Listen to everything."""
        page, cdp = self.page, self._cdp
        page.on("request", lambda request: self._note("request", f"{request.method} {request.url} {request.post_data}"))
        page.on("websocket", lambda socket: self._note("websocket", socket.url))
        page.on("worker", lambda worker: self._note("worker", worker.url))
        page.on("popup", lambda other: self._note("popup", other.url))
        page.on("console", lambda message: self._note("console", f"{message.type} {message.text}"))
        page.on("framenavigated", lambda frame: self._note("navigation", frame.url))
        page.on("download", lambda download: self._note("download", download.suggested_filename))
        page.on("pageerror", lambda error: self._note("page error", str(error)))
        origin = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
        for name, options in (
            ("Network.enable", {}), ("DOMStorage.enable", {}), ("Page.enable", {}), ("Log.enable", {}),
            ("Storage.trackIndexedDBForOrigin", {"origin": origin}),
            ("Storage.trackCacheStorageForOrigin", {"origin": origin}),
        ):  # fmt: skip
            if origin.startswith("http") or not name.startswith("Storage"):
                cdp.send(name, options)
        for name, field in (
            ("Network.requestWillBeSent", "request"), ("Network.webSocketCreated", "url"),
            ("Network.webTransportCreated", "url"), ("DOMStorage.domStorageItemAdded", "key"),
            ("DOMStorage.domStorageItemUpdated", "key"), ("DOMStorage.domStorageItemRemoved", "key"),
            ("Storage.indexedDBContentUpdated", "databaseName"), ("Storage.cacheStorageContentUpdated", "cacheName"),
            ("Page.navigatedWithinDocument", "url"), ("Log.entryAdded", "entry"),
            ("Network.reportingApiReportAdded", "report"),
        ):  # fmt: skip
            cdp.on(name, lambda event, name=name, field=field: self._note(name, json.dumps(event.get(field))))

    def _note(self, kind: str, about: str) -> None:
        self.events.append((kind, re.sub(r"blob:[^\s\"]+", "blob:", about)))

    def take(self) -> list[tuple[str, ...]]:
        """What both witnesses have seen since the last time, and where things could have been kept."""
        seen: list[list[str]] = self.page.evaluate("() => recorded.seen.splice(0)")
        kept: dict[str, Any] = self.page.evaluate(_KEPT)
        browser, self._since = self.events[self._since :], len(self.events)
        return [*browser, *map(tuple, seen), *((f"kept {name}", str(value)) for name, value in kept.items())]


def install(context: BrowserContext) -> None:
    """Have the wrappers in all pages of a context."""
    context.add_init_script(f"({WRAPPERS})();")


def leaving(events: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Those events that are requests to anywhere but the page's own memory."""
    found = []
    for event in events:
        if event[0] in ("request", "websocket", "worker", "navigation", "popup") or event[0].startswith("Network."):
            schemes = re.findall(r"\b([a-z]+):", " ".join(event[1:]))
            if any(scheme in _LEAVING for scheme in schemes):
                found.append(event)
        elif event[0] in ("fetch", "xhr open", "xhr send", "sendBeacon", "window.open") or event[0].startswith("new "):
            found.append(event)
    return found


def spellings(secret: str) -> set[str]:
    """How a secret could stand in something that is sent: as it is, folded, in an address, as base64 or hex."""
    found = set()
    for text in {secret, secret.strip(), folded(secret)}:
        raw = text.encode()
        found |= {text, quote(text), quote_plus(text), quote(text, safe=""), json.dumps(text)[1:-1], raw.hex()}
        # Base64 of a text that stands within another begins at any of three places; the middle is the same then.
        found |= {base64.b64encode(b"\0" * i + raw)[(0, 2, 3)[i] : -4].decode() for i in range(3)}
        found |= {base64.b64encode(text.encode("utf-16-le"))[:-4].decode(), text[::-1]}
    return {each for each in found if len(each) >= 6}


def holding(events: list[tuple[str, ...]], secret: str) -> list[tuple[str, ...]]:
    """Those events in which a secret stands, however it is spelled."""
    wanted = [each.lower() for each in spellings(secret)]
    return [event for event in events if any(each in part.lower() for part in event for each in wanted)]


def heap_strings(page: Page) -> list[str]:
    """All strings that scripts of a page can still reach, after what nobody reaches was thrown away."""
    cdp = page.context.new_cdp_session(page)
    pieces: list[str] = []
    cdp.on("HeapProfiler.addHeapSnapshotChunk", lambda event: pieces.append(event["chunk"]))
    cdp.send("HeapProfiler.enable")
    for _ in range(3):
        cdp.send("HeapProfiler.collectGarbage")
    cdp.send("HeapProfiler.takeHeapSnapshot", {"reportProgress": False, "captureNumericValue": False})
    cdp.detach()
    found: list[str] = json.loads("".join(pieces))["strings"]
    return found
