// Gives the browser a text to save as a file.
const kept_for = 10_000; // ms, in which the browser begins to read it

export function save_file(name: string, type: string, text: BlobPart): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), kept_for);
}
