"""The paper's experiments: suites of cells, a runner that survives being killed, tables, figures and a report.

A suite (``design``, ``suites``) says which cells to run. Cells (``cells``) become records (``runner``, ``executors``,
``results``). From its records (``summaries``) a suite makes tables, sentences and pictures (``partitioning``,
``impact``, ``examples``, ``table``, ``charts``) beside what the paper printed (``paper``), for a ``report``.
"""
