import { open, rename } from 'node:fs/promises'

/** Writes a file for its owner alone, at once, so that a killed process leaves the old one or the new one. */
export async function replaceFile(path: string, text: string): Promise<void> {
  {
    await using file = await open(`${path}.new`, 'w', 0o600)
    await file.writeFile(text)
    await file.sync()
  }
  await rename(`${path}.new`, path)
}
