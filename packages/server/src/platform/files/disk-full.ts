/** A file could not be written for lack of room: the disk is full, or the quota of this account is used up. */
class DiskFull extends Error {
  override name = 'DiskFull'
  readonly code: string

  constructor(path: string, code: string) {
    super(
      `${path} cannot be written: its disk is full. What was there before is unchanged. Make room, and try again.`,
    )
    this.code = code
  }
}

const noRoom = ['ENOSPC', 'EDQUOT']

/** @returns `DiskFull` if there was no room for the file; any other error as it is. */
export function explainFullDisk(error: unknown, path: string): unknown {
  const { code = '' } = (error ?? {}) as NodeJS.ErrnoException
  return noRoom.includes(code) ? new DiskFull(path, code) : error
}
