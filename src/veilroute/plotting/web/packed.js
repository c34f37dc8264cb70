// The data of an exported page: JSON, packed with gzip, written in letters that may stand in a page.

export async function unpackScene(text) {
  const letters = atob(text),
    bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// Open the page with the data in it; where that fails, say so in place of a page that waits for ever.
export async function readPacked(open) {
  try {
    open(await unpackScene(document.getElementById("scene").textContent));
  } catch (error) {
    const said = document.createElement("p");
    said.className = "panel error";
    said.textContent = `This browser cannot open the map: it is too old, or the file is damaged (${error.name}).`;
    document.getElementById("side").replaceChildren(said);
    throw error;
  }
}
