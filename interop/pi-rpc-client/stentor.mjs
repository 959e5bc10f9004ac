// pi's RpcClient starts `node <cliPath> …`. This is the cliPath: it starts stentor in its place.
import { spawn } from "node:child_process";

const child = spawn(process.env.STENTOR ?? "stentor", process.argv.slice(2), { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(`cannot start stentor: ${error.message}`);
  process.exit(127);
});
child.on("exit", (code, signal) => process.exit(code ?? (signal === "SIGKILL" ? 137 : 1)));
