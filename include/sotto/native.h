// Training without a tensor library: networks that are lists of layers, on the CPU.
//
// Buffers are made once, results of products stay in registers, and activations keep one order of
// memory from layer to layer, so that small networks train several times as fast as on a tensor
// library. What is drawn (order of samples, augmentation, dropout, noise) and the starting weights
// are those of the LibTorch engine; results differ from its in rounding alone. A trainer is one
// thread's, so that results never depend on the number of threads.
//
// Clients that send gradients of a single linear layer, by the million, have a path of their own: a
// client of one sample costs two passes over the weights, a few microseconds.
#pragma once

#include <functional>
#include <memory>

#include "sotto/trainer.h"

namespace sotto {

/// Whether a network is a single layer, fully connected.
bool is_linear(const Network& network);

/// Whether the native engine can do what is requested: a network of known layers, on the cpu.
bool trains_natively(const TrainerRequest& request);

using EngineMaker =
    std::function<Result<std::shared_ptr<const TrainerFactory>>(const TrainerRequest&)>;

/// `saver` makes what writes models, when one is saved; without it save() writes safetensors, to
/// `path` with that extension. An error for a request that is not trains_natively().
Result<std::shared_ptr<const TrainerFactory>> make_native_factory(const TrainerRequest& request,
                                                                  EngineMaker saver = nullptr);

/// The engine that request.engine names. `torch` makes the one on LibTorch, which also writes the
/// models of the native one; empty where there is none. It is called only where it is needed:
/// loading LibTorch takes longer than many a run.
Result<std::shared_ptr<const TrainerFactory>> choose_engine(const TrainerRequest& request,
                                                            const EngineMaker& torch);

/// Additions and multiplications in the products of matrices that one sample takes in a step of
/// training: by tiles where convolutions go that way, without the additions of their transforms.
double training_flops(const Network& network);
/// How many a second this core does in the engine's kernel with everything in the nearest cache.
double measured_flops();

}  // namespace sotto
