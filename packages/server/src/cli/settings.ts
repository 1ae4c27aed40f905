import { type Config, ConfigError, readConfig, secretFiles } from '../config.ts'
import { warn } from './output.ts'

/** The settings of the service, for every command. */
export interface Settings {
  /**
   * Reads them and warns about unknown names.
   * @throws {ConfigError} with all faults.
   */
  read(): Config
  /** The same for a command that reports on them: it prints and throws nothing. */
  inspect(): { config: Config | null; faults: readonly string[]; warnings: readonly string[] }
  /** The files with secrets, by the setting that names them. */
  secretFiles(): [setting: string, path: string][]
}

export function settingsFrom(env: Record<string, string | undefined>): Settings {
  return {
    secretFiles: () => secretFiles(env),
    read() {
      try {
        const { config, warnings } = readConfig(env)
        for (const warning of warnings) warn(warning)
        return config
      } catch (error) {
        if (error instanceof ConfigError) for (const warning of error.warnings) warn(warning)
        throw error
      }
    },
    inspect() {
      try {
        return { ...readConfig(env), faults: [] }
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error
        return { config: null, faults: error.faults, warnings: error.warnings }
      }
    },
  }
}
