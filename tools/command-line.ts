import { parseArgs } from 'node:util'

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>

/**
 * Reads the command line of an `npm run` command. `--help` prints its usage and ends the process; so does an argument that
 * the command does not take, with a message and exit code 2, before anything is done.
 *
 * @param usage what `--help` prints, in whole lines
 * @param options as `parseArgs` takes them
 * @param positionals how many other arguments the command takes
 */
export function readCommandLine<const T extends Options>(
  usage: string,
  options: T,
  positionals: { readonly most: number } = { most: 0 },
  args: readonly string[] = process.argv.slice(2),
) {
  const parsed = parse(usage, options, args)
  if ((parsed.values as { help?: boolean }).help === true) {
    console.log(usage)
    process.exit(0)
  }
  const extra = parsed.positionals[positionals.most]
  if (extra !== undefined) refuse(`"${extra}" is one argument too many.`, usage)
  return parsed
}

function parse<const T extends Options>(usage: string, options: T, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { ...options, help: { type: 'boolean', short: 'h' } } as T & { help: { type: 'boolean' } },
      allowPositionals: true,
    })
  } catch (error) {
    return refuse((error as Error).message, usage)
  }
}

/** Ends the process with a message, for a command line that cannot be used. */
export function refuse(message: string, usage?: string): never {
  console.error(usage === undefined ? message : `${message}\n\n${usage}`)
  process.exit(2)
}
