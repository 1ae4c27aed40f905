/** Saves a file that the page made, under this name, where the browser keeps downloads. */
export function saveFile(name: string, type: string, parts: BlobPart[]): void {
  const address = URL.createObjectURL(new Blob(parts, { type }))
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  // The browser has taken the file once this task ends.
  setTimeout(() => URL.revokeObjectURL(address))
}
