/** The variable by which the runner of the tests knows what a test file started. */
export const markVariable = 'KEYRAIL_TEST_MARK'

/** The mark of this test file, for a process that gets an environment that it does not inherit. */
export function ownMark(): Record<string, string> {
  const mark = process.env[markVariable]
  return mark === undefined ? {} : { [markVariable]: mark }
}
