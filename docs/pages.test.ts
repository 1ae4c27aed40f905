import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { anchorsOf, checkout, documentsWithText, proseOf, readDocument } from './documents.ts'

const pages = documentsWithText()
const { scripts } = JSON.parse(readDocument('package.json')) as { scripts: Record<string, string> }
const inCheckout = (path: string) => existsSync(join(checkout, path))

test('every link of a page to another or within itself leads to something', () => {
  for (const { path, text } of pages) {
    for (const [, target = ''] of proseOf(text).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^https?:/.test(target)) continue
      const [file = '', anchor] = target.split('#')
      const found = file === '' ? path : normalize(join(dirname(path), file))
      assert.ok(inCheckout(found), `${path} links to ${target}`)
      if (anchor !== undefined)
        assert.ok(anchorsOf(readDocument(found)).includes(anchor), `${path} links to ${target}`)
    }
  }
})

test('every path of the checkout that a page names is there', () => {
  const places = /`((?:\.ci|bench|bin|docs|drills|examples|packages|tools)\/[\w./*-]*)`/g
  for (const { path, text } of pages) {
    for (const [, named = ''] of text.matchAll(places)) {
      const [plain = ''] = named.split('*')
      const found = named.includes('*') ? plain.slice(0, plain.lastIndexOf('/') + 1) : named
      assert.ok(inCheckout(found), `${path} names ${named}`)
      if (found.endsWith('/'))
        assert.ok(statSync(join(checkout, found)).isDirectory(), `${path} names ${named}`)
    }
  }
})

test('every npm script that a page names is there, and so is what it runs', () => {
  for (const { path, text } of pages) {
    for (const [, name = ''] of text.matchAll(/\bnpm (?:run )?(start|test|(?<=run )[\w:-]+)/g)) {
      const script = scripts[name]
      assert.ok(script, `${path} names npm run ${name}`)
      for (const file of script.split(' ').slice(1))
        if (/\.m?[jt]s$/.test(file)) assert.ok(inCheckout(file), file)
    }
  }
})

/** Where a page writes a command: in a block of code, or as code within a sentence. */
const commands = /(?:^|`|\/)keyrail(?:\.mjs)? ([a-z][\w-]*(?: [a-z][\w-]*)?)((?: [^\n`]*)?)/gm

test('every command of keyrail that a page names is there, with the flags that it is given', () => {
  const named = new Map<string, Set<string>>()
  for (const { text } of pages) {
    for (const [, words = '', rest = ''] of text.matchAll(commands)) {
      const nested = /^(secret-keys|workspace) /.test(words)
      const command = nested ? words : (words.split(' ')[0] ?? '')
      if (command === 'help') continue
      const flags = named.get(command) ?? new Set()
      for (const [flag] of rest.matchAll(/--[a-z-]+/g)) flags.add(flag)
      named.set(command, flags)
    }
  }
  assert.ok(named.size >= 6, [...named.keys()].join(', '))
  for (const [command, flags] of named) {
    const args = [join(checkout, 'bin/keyrail.mjs'), ...command.split(' '), '--help']
    const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
    assert.equal(status, 0, `keyrail ${command}`)
    assert.ok(stdout.startsWith(`Usage: keyrail ${command} `), `keyrail ${command}: ${stdout.split('\n')[0]}`)
    for (const flag of flags) assert.ok(stdout.includes(flag), `keyrail ${command} ${flag}`)
  }
})
