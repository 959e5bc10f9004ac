// Waiting for events of a client.

export function until(client: any, fits: (event: any) => boolean): Promise<any> {
  return collect(client, fits, 1).then((events) => events.at(-1));
}

/** Resolves with all events when the `count`th has come that fits. */
export function collect(client: any, fits: (event: any) => boolean, count: number): Promise<any[]> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error("the event did not come")), 30_000);
    const events: any[] = [];
    let left = count;
    const stop = client.onEvent((event: any) => {
      events.push(event);
      if (!fits(event) || --left > 0) return;
      clearTimeout(timer);
      stop();
      resolve(events);
    });
  });
}

/** Waits until nothing follows, by asking: the older class has no event for it. */
export async function idle(client: any) {
  while ((await client.getState()).isStreaming) await new Promise((resolve) => setTimeout(resolve, 10));
}
