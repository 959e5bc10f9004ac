// Stands in for omp's native library. Of all it offers, omp's RpcClient 18 needs this: that the child
// it started is told to end, and is made to if it does not.
const GRACE_MS = 1000;

export class Process {
  static fromPid(pid) {
    return new Process(pid);
  }

  constructor(pid) {
    this.pid = pid;
  }

  async terminate({ gracefulMs = GRACE_MS } = {}) {
    if (gracefulMs >= 0) {
      this.signal("SIGTERM");
      if (await this.waitForExit({ timeoutMs: gracefulMs })) return true;
    }
    this.signal("SIGKILL");
    return this.waitForExit({ timeoutMs: GRACE_MS });
  }

  async waitForExit({ timeoutMs = Infinity } = {}) {
    const deadline = Date.now() + timeoutMs;
    while (this.signal(0)) {
      if (Date.now() > deadline) return false;
      await Bun.sleep(5);
    }
    return true;
  }

  /** Whether there is such a process still. */
  signal(signal) {
    try {
      return process.kill(this.pid, signal);
    } catch {
      return false;
    }
  }
}

// Asked for by name, never called by the class.
export const ProcessStatus = {};
export class FileLock {}
export function renderMermaidAscii() {
  throw new Error("not needed for the RpcClient");
}
