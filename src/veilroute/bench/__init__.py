"""The paper's experiments: suites of cells, a runner that survives being killed, tables, figures and a report."""
