import { ofNode } from './of-node.ts'

/**
 * The memory that this process may use, in bytes: that of its container, or of the machine. Undefined where the runtime does not
 * say, as in a worker.
 */
export function usableMemory(): number | undefined {
  return ofNode(process => {
    const machine = process.getBuiltinModule('node:os').totalmem()
    // 0 where nothing constrains the process; an absurd number where a container has no limit.
    const container = process.constrainedMemory()
    return container > 0 ? Math.min(container, machine) : machine
  })
}
