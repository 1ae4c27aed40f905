import { createInterface } from 'node:readline'
import type { Command, Json } from './case.ts'
import type { Driver } from './run.ts'
import { type Opening, SdkNode } from './sdk-node.ts'

/** The driver of the SDK. As a program, it reads commands from its standard input. */
export class SdkDriver implements Driver {
  #node: SdkNode | undefined

  async send({ op, ...fields }: Command): Promise<Json> {
    if (op === 'open') return await this.#open(fields as unknown as Opening)
    const node = this.#node
    if (node === undefined) throw new Error('no node is open')
    switch (op) {
      case 'poll':
        return await node.poll()
      case 'advance':
        node.advance(fields.ms as number, fields.wall as number | undefined)
        return {}
      case 'verify':
        return node.verify(fields)
      case 'ready':
        return { ready: node.isReady }
      case 'save':
        await node.save()
        return {}
      case 'limit':
        return await node.route.limit(fields)
      case 'count':
        node.route.count(fields)
        return {}
      case 'report':
        return await node.route.report()
      case 'gate':
        return await node.route.gate(fields)
      default:
        return { unsupported: true }
    }
  }

  async close(): Promise<void> {
    await this.#node?.drop()
    this.#node = undefined
  }

  async #open(fields: Opening): Promise<Json> {
    await this.close()
    this.#node = new SdkNode(fields)
    return { reports: await this.#node.opened() }
  }
}

if (import.meta.main) {
  const driver = new SdkDriver()
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, ...command } = JSON.parse(line) as Command & { id: number }
    // Not awaited: time advances while a poll is under way.
    void driver
      .send(command)
      .catch((error: Error) => ({ failed: error.message }))
      .then(answer => process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`))
  }
  await driver.close()
}
