import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkout, documentsWithText } from './documents.ts'

/** Where a page writes a command: in a block of code, behind assignments or not, or as code within a sentence. */
const written = /(?:^ *(?:\w+=\S+ )*|`|\/)keyrail(?:\.mjs)? ([a-z][^\n`]*)/gm
/** A command that is to be typed, in a sentence: a step begins with it, or "run" does. Elsewhere it may be a name. */
const typed = /(?:^ *\d+\. |\b[Rr]un )$/

const helped = new Map<string, string>()
function helpOf(...command: string[]): string {
  const name = command.join(' ')
  const known = helped.get(name)
  if (known !== undefined) return known
  const args = [join(checkout, 'bin/keyrail.mjs'), ...command, '--help']
  const { stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  helped.set(name, stdout)
  return stdout
}

const commandsIn = (help: string): string[] =>
  [...(help.split('\nCommands:\n')[1] ?? '').matchAll(/^ {2}([a-z][\w-]*)/gm)].map(([, name = '']) => name)

/** The arguments that a command requires and a line lacks. */
function missingArguments(command: readonly string[], line: string): string[] {
  const help = helpOf(...command)
  const required = /^Usage: .*$/m.exec(help)?.[0].match(/<[^>]+>/g) ?? []
  const takesValue = new Set([...help.matchAll(/(--[a-z-]+) </g)].map(([, flag]) => flag))
  const words = (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).slice(command.length)
  const end = words.findIndex(word => /^[>|&#]/.test(word))
  const given = words
    .slice(0, end === -1 ? undefined : end)
    .filter((word, at, all) => !word.startsWith('--') && !takesValue.has(all[at - 1] ?? ''))
  return required.slice(given.length)
}

/** What is wrong with the commands of a page: their names, at both levels, their flags, and what a sample leaves out. */
function faultsOf(text: string): string[] {
  return [...text.matchAll(written)].flatMap(({ 0: found, 1: line = '', index }) => {
    const [name = '', second = ''] = line.split(/\s+/)
    if (name === 'help') return []
    if (!commandsIn(helpOf()).includes(name)) return [`keyrail ${name}`]
    const nested = commandsIn(helpOf(name))
    if (nested.length > 0 && !nested.includes(second)) return [`keyrail ${name} ${second}`]
    const command = nested.length > 0 ? [name, second] : [name]
    const flags = (line.match(/--[a-z-]+/g) ?? []).filter(flag => !helpOf(...command).includes(flag))
    const before = text.slice(text.lastIndexOf('\n', index - 1) + 1, index)
    const isSample = !/^[`/]/.test(found) || typed.test(before)
    const lacking = isSample ? missingArguments(command, line) : []
    return [...flags, ...lacking].map(fault => `keyrail ${command.join(' ')} ${fault}`)
  })
}

test('every command of keyrail that a page names exists, with its flags and arguments', () => {
  const named = documentsWithText().flatMap(({ path, text }) => {
    assert.deepEqual(faultsOf(text), [], path)
    return [...text.matchAll(written)]
  })
  assert.ok(named.length >= 20, `${named.length}`)
})

test('a page with a wrong command, a wrong one below it or a wrong flag is found', () => {
  assert.deepEqual(faultsOf('`keyrail doctor` `keyrail encryption rotate --discard` `keyrail help X`'), [])
  for (const broken of ['keyrail frobnicate', 'keyrail encryption turn', 'keyrail doctor --none'])
    assert.deepEqual(faultsOf(`\`${broken}\``), [broken])
  assert.deepEqual(faultsOf('Use `keyrail backup`. `keyrail backup --every` repeats it.\n'), [])
  assert.deepEqual(
    faultsOf('1. `keyrail backup FILE --keep 3`.\n   Run `keyrail restore - --identity KEY`.'),
    [],
  )
  for (const sample of [
    '1. `keyrail backup`.',
    'Run `keyrail backup --keep 3`',
    '   A=b keyrail backup # it',
  ])
    assert.deepEqual(faultsOf(sample), ['keyrail backup <FILE>'], sample)
})

test('the page on operations names every command of keyrail', () => {
  const operations = documentsWithText().find(({ path }) => path === 'docs/operations.md')?.text ?? ''
  for (const name of commandsIn(helpOf())) {
    if (name === 'help') continue
    const nested = commandsIn(helpOf(name)).filter(below => below !== 'help')
    for (const command of nested.length > 0 ? nested.map(below => `${name} ${below}`) : [name])
      assert.ok(new RegExp(`keyrail(?:\\.mjs)? ${command}\\b`).test(operations), command)
  }
})
