/** A requirement of ASVS that is met, with the tests that show it. */
export interface Met {
  readonly id: string
  readonly level: string
  readonly asked: string
  /** Paths are from the checkout's directory. */
  readonly tests: readonly { readonly file: string; readonly name: string }[]
}

/**
 * Reads `docs/asvs-met.csv`. The last field lists `FILE > NAME OF THE TEST`, with ` | ` between two.
 *
 * @throws Error when a line has another form
 */
export function readMet(csv: string): Met[] {
  const [head, ...lines] = csv.trimEnd().split('\n')
  if (head !== 'requirement,level,what,tests') throw new Error(`asvs-met.csv begins with ${head}`)
  return lines.map(line => {
    const [, id = '', level = '', asked = '', tests] =
      /^([\d.]+),([12]),"([^"]*)","([^"]*)"$/.exec(line) ?? []
    if (tests === undefined) throw new Error(`asvs-met.csv has a line of another form: ${line}`)
    return { id, level, asked, tests: tests.split(' | ').map(testOf) }
  })
}

function testOf(text: string): Met['tests'][number] {
  const [file = '', name = ''] = text.split(' > ')
  return { file, name }
}
