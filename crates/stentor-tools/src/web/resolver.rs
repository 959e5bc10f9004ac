//! Names to addresses, none of them private.
//!
//! The client connects to exactly the addresses that were looked at here, so a name that means
//! another address the next time is looked at again: there is no moment between the check and the
//! use.

use std::error::Error;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// Asks for the addresses of a name.
pub(super) type NameLookup = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;
type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// What an address is that may not be used.
pub(super) type AddressGuard = fn(IpAddr) -> Option<&'static str>;

/// Resolves names to addresses that the guard lets through.
pub(super) struct GuardedResolver {
    pub lookup: NameLookup,
    pub guard: AddressGuard,
    /// The proxies, to which the guard does not apply.
    pub exempt: Vec<String>,
}

/// A name has only addresses that may not be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{address} is {what}")]
pub(super) struct NotPublic {
    pub address: IpAddr,
    pub what: &'static str,
}

/// The system's way.
pub(super) fn system_lookup() -> NameLookup {
    Arc::new(|name| {
        Box::pin(async move { Ok(tokio::net::lookup_host((name, 0)).await?.collect()) })
    })
}

impl Resolve for GuardedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let looking = (self.lookup)(name.as_str().to_owned());
        let is_exempt = self.exempt.iter().any(|host| host == name.as_str());
        let guard = self.guard;
        Box::pin(async move {
            let found = looking.await?;
            let stopped = |address: &SocketAddr| match is_exempt {
                true => None,
                false => guard(address.ip()),
            };
            let mut refused = None;
            let mut usable = Vec::with_capacity(found.len());
            for address in found {
                match stopped(&address) {
                    None => usable.push(address),
                    Some(what) => {
                        refused = Some(NotPublic {
                            address: address.ip(),
                            what,
                        });
                    }
                }
            }
            match refused {
                Some(refused) if usable.is_empty() => {
                    Err(Box::new(refused) as Box<dyn Error + Send + Sync>)
                }
                _ => Ok(Box::new(usable.into_iter()) as Addrs),
            }
        })
    }
}

/// The address that was refused, if that is why a request failed.
pub(super) fn refused_address<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a NotPublic> {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref::<NotPublic>() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::web::address::not_public;

    /// Answers with one list after the other.
    fn answers(mut lists: Vec<Vec<&'static str>>) -> NameLookup {
        lists.reverse();
        let lists = Mutex::new(lists);
        Arc::new(move |_| {
            let list = lists.lock().unwrap().pop().unwrap_or_default();
            let parse = |text: &str| SocketAddr::new(text.parse().unwrap(), 0);
            let found = list.into_iter().map(parse).collect();
            Box::pin(std::future::ready(Ok(found)))
        })
    }

    async fn resolved(lists: Vec<Vec<&'static str>>, exempt: &[&str]) -> Vec<String> {
        let count = lists.len();
        let resolver = GuardedResolver {
            lookup: answers(lists),
            guard: not_public,
            exempt: exempt.iter().map(|name| (*name).to_owned()).collect(),
        };
        let mut all = Vec::new();
        for _ in 0..count {
            let name = "name.test".parse().unwrap();
            all.push(match resolver.resolve(name).await {
                Ok(found) => {
                    let found: Vec<String> = found.map(|at| at.ip().to_string()).collect();
                    found.join(" ")
                }
                Err(error) => error.to_string(),
            });
        }
        all
    }

    #[tokio::test]
    async fn a_name_that_means_a_private_address_the_second_time_is_refused_then() {
        let lists = vec![vec!["8.8.8.8"], vec!["127.0.0.1"], vec!["8.8.4.4"]];
        assert_eq!(
            resolved(lists, &[]).await,
            ["8.8.8.8", "127.0.0.1 is this machine", "8.8.4.4"]
        );
    }

    #[tokio::test]
    async fn of_several_addresses_only_public_ones_are_used() {
        let lists = vec![
            vec!["10.0.0.1", "8.8.8.8", "::1", "2606:4700::1"],
            vec!["10.0.0.1", "fe80::1"],
        ];
        assert_eq!(
            resolved(lists, &[]).await,
            ["8.8.8.8 2606:4700::1", "fe80::1 is the local network"]
        );
        let proxy = vec![vec!["10.0.0.1"]];
        assert_eq!(resolved(proxy, &["name.test"]).await, ["10.0.0.1"]);
    }

    /// Both addresses are of this machine, where there are servers: to the one that the guard does
    /// not let through nobody connects.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn the_client_connects_to_what_was_looked_at_and_to_nothing_else() {
        let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = good.local_addr().unwrap().port();
        let secret = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
        tokio::spawn(async move {
            let (mut stream, _) = good.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await.unwrap();
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok";
            stream.write_all(answer).await.unwrap();
        });
        let resolver = GuardedResolver {
            lookup: answers(vec![vec!["127.0.0.1"], vec!["127.0.0.2"]]),
            guard: |at| (at.to_string() != "127.0.0.1").then_some("another machine"),
            exempt: Vec::new(),
        };
        let http = stentor_http::Http::default();
        let builder = http.builder(None).unwrap().dns_resolver(resolver);
        let client = stentor_http::finish(builder.pool_max_idle_per_host(0)).unwrap();
        let url = format!("http://name.test:{port}/");
        let first = client.get(&url).send().await.unwrap().text().await.unwrap();
        assert_eq!(first, "ok");
        let error = client.get(&url).send().await.unwrap_err();
        let refused = refused_address(&error).unwrap();
        assert_eq!(refused.to_string(), "127.0.0.2 is another machine");
        let mut accepting = Box::pin(secret.accept());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(accepting.as_mut().poll(&mut context).is_pending());
    }
}
