/** A file could not be written for lack of space: the disk is full, or the quota of this account is used up. */
class DiskFull extends Error {
  override name = 'DiskFull'
  readonly code: string

  constructor(path: string, code: string) {
    super(
      `${path} cannot be written: its disk is full. What was there before is unchanged. Make space, and try again.`,
    )
    this.code = code
  }
}

const fullCodes = ['ENOSPC', 'EDQUOT']

/** @returns `DiskFull` if there was no space for the file; any other error as it is. */
export function explainFullDisk(error: unknown, path: string): unknown {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException
  return fullCodes.includes(code) ? new DiskFull(path, code) : error
}
