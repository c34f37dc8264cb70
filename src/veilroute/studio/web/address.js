// What the address says: the job that is looked at, the view and, where the server asks for one, the token. Never more.

export function readAddress(views) {
  const found = new URLSearchParams(location.hash.slice(1)),
    view = found.get("view");
  return { job: found.get("job"), token: found.get("token") ?? "", view: views.includes(view) ? view : views[0] };
}

export function addressOf({ job, view, token }) {
  const found = new URLSearchParams();
  if (job) found.set("job", job);
  found.set("view", view);
  if (token) found.set("token", token);
  return `#${found}`;
}
