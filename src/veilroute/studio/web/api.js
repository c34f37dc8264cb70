// All requests of the studio, in one place: whoever seals it can be sure that nothing leaves the page any more.

const KEY_SEARCHED = 65536; // as far as the server looks: somebody may have written a line above the key
const FINAL_STATES = new Set(["done", "failed", "cancelled", "killed"]);

// What the server answered when it refused: one line to show as it is, and after how many seconds to try again.
// Of a job that failed, problems = [{what, file, row, column, field, name, did_you_mean}] says it thing by thing.
export class ApiError extends Error {
  constructor(message, status, retryAfter, problems = []) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
    this.problems = problems;
  }
}

export function isFinal(job) {
  return FINAL_STATES.has(job.state);
}

let token = "";
let isSealed = false;
const underWay = new Set();

export function setToken(value) {
  token = value;
}

// Ends every request and every stream that is open.
export function abortAll() {
  for (const controller of underWay) controller.abort();
  underWay.clear();
}

// From here on this page asks nobody for anything. There is no way back but a new document.
export function seal() {
  isSealed = true;
  token = "";
  abortAll();
}

function headersOf(extra) {
  return token ? { ...extra, Authorization: `Bearer ${token}` } : { ...extra };
}

async function request(path, { method = "GET", headers = {}, body, signal } = {}) {
  if (isSealed) throw new ApiError("This page is sealed: it sends nothing any more.", 0, null);
  const controller = new AbortController(),
    abort = () => controller.abort();
  underWay.add(controller);
  signal?.addEventListener("abort", abort);
  try {
    const answer = await fetch(path, {
      method,
      body,
      headers: headersOf(headers),
      signal: controller.signal,
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      referrerPolicy: "no-referrer",
    });
    if (!answer.ok) throw await refusal(answer);
    return {
      answer,
      done: () => {
        underWay.delete(controller);
        signal?.removeEventListener("abort", abort);
      },
    };
  } catch (error) {
    underWay.delete(controller);
    if (error instanceof ApiError || error.name === "AbortError") throw error;
    throw new ApiError("The server does not answer. Is `veilroute serve` still running?", 0, null);
  }
}

async function refusal(answer) {
  let line = `The server answered ${answer.status}.`;
  try {
    line = (await answer.json()).error || line;
  } catch {
    /* Not JSON: the status has to do. */
  }
  const seconds = Number(answer.headers.get("Retry-After")) || null;
  if (answer.status === 429) line = `The queue is full, try again in ${seconds ?? 5} s. (${line})`;
  if (answer.status === 401)
    line = `This page needs the token that the server printed: open the address that it printed. (${line})`;
  return new ApiError(line, answer.status, seconds);
}

async function readWhole(path, options, read) {
  const { answer, done } = await request(path, options);
  try {
    return await read(answer);
  } finally {
    done();
  }
}

const asJson = (answer) => (answer.status === 204 ? null : answer.json());

export function getJson(path, signal) {
  return readWhole(path, { signal }, asJson);
}

export function getAbout() {
  return getJson("/api/about");
}

export async function listFiles() {
  return (await getJson("/api/files")).files;
}

export async function listJobs() {
  return (await getJson("/api/jobs")).jobs;
}

export function getJob(id) {
  return getJson(`/api/jobs/${encodeURIComponent(id)}`);
}

export function resultPath(reference) {
  const [job, name] = splitReference(reference);
  return `/api/jobs/${encodeURIComponent(job)}/results/${encodeURIComponent(name)}`;
}

function splitReference(reference) {
  const cut = reference.indexOf("/");
  return [reference.slice(0, cut), reference.slice(cut + 1)];
}

export function getResult(job, name, signal) {
  return getJson(resultPath(`${job}/${name}`), signal);
}

// What stands behind a reference, as bytes: a file that was uploaded, or a result of a job.
export function getBlob(reference) {
  const path = reference.includes("/") ? resultPath(reference) : `/api/files/${encodeURIComponent(reference)}`;
  return readWhole(path, {}, (answer) => answer.blob());
}

// The same key twice gives the same job: a reload starts nothing anew.
export function startJob(kind, params, key) {
  const headers = { "Content-Type": "application/json", ...(key ? { "Idempotency-Key": key } : {}) };
  return readWhole("/api/jobs", { method: "POST", headers, body: JSON.stringify({ kind, params }) }, asJson);
}

// The content type is one that no form can send: the server takes nothing else.
function act(method, path) {
  const headers = method === "POST" ? { "Content-Type": "application/json" } : {};
  return readWhole(path, { method, headers }, asJson);
}

export function cancelJob(id) {
  return act("POST", `/api/jobs/${encodeURIComponent(id)}/cancel`);
}

export function resumeJob(id) {
  return act("POST", `/api/jobs/${encodeURIComponent(id)}/resume`);
}

export function deleteJob(id) {
  return act("DELETE", `/api/jobs/${encodeURIComponent(id)}`);
}

export function deleteFile(id) {
  return act("DELETE", `/api/files/${encodeURIComponent(id)}`);
}

// A file goes to the server, but a private key does not: it is found out here, before anything is sent.
export async function uploadFile(file, onShare) {
  if ((await file.slice(0, KEY_SEARCHED).text()).includes("veilroute-key/")) {
    throw new ApiError(
      `${file.name} is a private key: it stays with you, and is for Drive only. It was not sent.`,
      0,
      null,
    );
  }
  return sendFile(file, onShare);
}

// fetch does not say how much of a body has been sent; XMLHttpRequest does.
function sendFile(file, onShare) {
  if (isSealed) return Promise.reject(new ApiError("This page is sealed: it sends nothing any more.", 0, null));
  return new Promise((resolve, reject) => {
    const sender = new XMLHttpRequest(),
      controller = { abort: () => sender.abort() };
    underWay.add(controller);
    sender.open("POST", `/api/files?name=${encodeURIComponent(file.name)}`);
    for (const [name, value] of Object.entries(headersOf({ "Content-Type": "application/octet-stream" }))) {
      sender.setRequestHeader(name, value);
    }
    sender.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onShare?.(event.loaded / event.total);
    });
    sender.addEventListener("loadend", () => {
      underWay.delete(controller);
      settleUpload(sender, resolve, reject);
    });
    sender.send(file);
  });
}

function settleUpload(sender, resolve, reject) {
  let answer = null;
  try {
    answer = JSON.parse(sender.responseText);
  } catch {
    /* Nothing came, or not JSON. */
  }
  if (sender.status === 201 || sender.status === 200) resolve(answer);
  else if (sender.status) {
    reject(new ApiError(answer?.error || `The server answered ${sender.status}.`, sender.status, null));
  } else
    reject(new ApiError("The file could not be sent: the server does not answer, or it refused the file.", 0, null));
}

// Reads `event:` and `data:` lines of a stream, and calls for each event.
async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) giveEvent(block, onEvent);
  }
}

function giveEvent(block, onEvent) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length) onEvent(name, JSON.parse(data.join("\n")));
}

const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });

// Follows a job to its end, over breaks of the connection and restarts of the server. Returns a function that stops it.
// on = {progress(progress), result(name, isFinal), job(job), end(job), lost(error)}; end comes once.
export function followJob(id, on) {
  const controller = new AbortController();
  underWay.add(controller);
  follow(id, on, controller.signal).finally(() => underWay.delete(controller));
  return () => controller.abort();
}

async function follow(id, on, signal) {
  let wait = 500;
  while (!signal.aborted && !isSealed) {
    try {
      const { answer, done } = await request(`/api/jobs/${encodeURIComponent(id)}/events`, { signal });
      try {
        await readEvents(answer.body, (name, data) => {
          wait = 500;
          if (!signal.aborted) passOn(name, data, on);
        });
      } finally {
        done();
      }
      const job = await getJob(id);
      if (signal.aborted) return;
      on.job?.(job);
      if (isFinal(job)) return void on.end?.(job);
    } catch (error) {
      if (signal.aborted || isSealed) return;
      on.lost?.(error);
      if (error instanceof ApiError && [401, 403, 404].includes(error.status)) return;
    }
    await pause(wait, signal);
    wait = Math.min(wait * 2, 10000);
  }
}

function passOn(name, data, on) {
  if (name === "progress") on.progress?.(data);
  else if (name === "result") on.result?.(data.name, data.is_final);
  else if (name === "state" && data.id) on.job?.(data);
}

// Starts a job, or takes the one that is there, and waits for its end; onStart and onEnd get the job.
export async function runJob(kind, params, { key, onStart, onEnd = onStart, onProgress } = {}) {
  let job = await startJob(kind, params, key);
  if (["failed", "killed", "cancelled"].includes(job.state)) job = await resumeJob(job.id);
  onStart?.(job);
  const ended = isFinal(job)
    ? job
    : await new Promise((resolve, reject) => {
        followJob(job.id, {
          progress: onProgress,
          end: resolve,
          lost: (error) => {
            if (error.status) reject(error);
          },
        });
      });
  onEnd?.(ended);
  if (ended.state !== "done") throw jobFailure(ended);
  return ended;
}

// In one line, why a job did not end well.
export function jobError(job) {
  return (
    job.error ||
    { cancelled: "Cancelled.", killed: "The worker was killed; the job can be resumed." }[job.state] ||
    "The job failed."
  );
}

// The same as an error to show, with each of its problems.
export function jobFailure(job) {
  return new ApiError(jobError(job), 0, null, job.problems ?? []);
}
