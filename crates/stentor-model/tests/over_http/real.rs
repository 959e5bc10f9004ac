//! A conversation with a real model behind an OpenAI-compatible server.

use stentor_agent::model::{Model, ModelEvent};
use stentor_model::wire::Wire;

use crate::setup::{ask, message_of, model_at, request, text_of, user};

/// `REAL_MODEL_URL=http://127.0.0.1:8080/v1 REAL_MODEL=smollm2 cargo test -- --ignored real_model`
#[tokio::test]
#[ignore = "needs a server, such as interop/real-model.sh starts"]
async fn a_real_model_answers_and_a_follow_up_too() {
    let url = std::env::var("REAL_MODEL_URL").expect("REAL_MODEL_URL names the server");
    let id = std::env::var("REAL_MODEL").expect("REAL_MODEL names the model");
    let mut info = crate::setup::info(Wire::OpenAiChat, url);
    info.id = id;
    info.provider = "llamacpp".into();
    info.reasoning = false;
    let model = model_at(crate::setup::endpoint(info, Wire::OpenAiChat));
    let mut messages = vec![user("Say hello to the world in one short sentence.")];
    for _ in 0..2 {
        let mut asked = request(messages.clone());
        asked.tools = std::sync::Arc::new([]);
        asked.max_output_tokens = Some(64);
        let (events, error) = ask(&model, asked).await;
        assert_eq!(error, None);
        assert!(!text_of(&events).is_empty());
        assert!(matches!(events.last(), Some(ModelEvent::Finished(_))));
        messages.push(message_of(&events, model.info()));
        messages.push(user("And to the moon?"));
    }
}
