/** The SDK names members in camelCase; files have the names of the API, as an import takes them and an export gives them. */

const toCamel = (name: string): string =>
  name.replaceAll(/(?<=[a-z\d])_([a-z])/g, (_, letter: string) => letter.toUpperCase())
const toSnake = (name: string): string =>
  name.replaceAll(/(?<=[a-z\d])[A-Z]/g, letter => `_${letter.toLowerCase()}`)

/** What the vendor wrote keeps its names. */
const opaque = 'meta'

function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(item => renamed(item, rename))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) =>
      name === opaque ? [name, member] : [rename(name), renamed(member, rename)],
    ),
  )
}

export const namedForSdk = (row: object): object => renamed(row, toCamel) as object
export const namedForFile = (key: object): object => renamed(key, toSnake) as object

/** A fault of a row, which the SDK describes to programs, as a file has its members. */
export const faultForFile = <Fault extends { readonly path: string; readonly message: string }>(
  fault: Fault,
): Fault => ({
  ...fault,
  path: fault.path.split('.')[0] === opaque ? fault.path : toSnake(fault.path),
  // No value of the row stands in a message.
  message: toSnake(fault.message),
})
