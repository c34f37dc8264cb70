// Files that are dropped anywhere on the page: a veil says that they may be, and the first of them is taken.

export function wireDrops(veil, isOpen, take) {
  const isFile = (event) => isOpen() && event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    if (isFile(event)) veil.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) veil.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    veil.hidden = true;
    const file = isFile(event) ? event.dataTransfer.files[0] : null;
    if (file) take(file);
  });
}
