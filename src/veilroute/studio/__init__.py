"""The studio's server: files, jobs and a page in the browser, on this machine.

Everything that computes runs in worker processes; the server itself keeps files and jobs, and hands out what is there.
The secret never comes here: the page picks the route of a secret by itself.
"""

__all__: list[str] = []
